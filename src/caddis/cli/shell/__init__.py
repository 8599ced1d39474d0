"""What all verbs share: options, running, the screen, models and checks of the machine.

A verb declares its options as the fields of one frozen dataclass and hands its work to `run`. The
work returns a summary, which can be shown to a person or printed as JSON:

    @app.command(name="match")
    @fills(MatchOptions)
    def command(options: MatchOptions) -> None:
        run(lambda job: match(options, job), as_json=options.as_json)

The work gets a `Job`: its `screen` shows what is going on, and its `resources` are closed however
the work ends.
"""

from caddis.cli.shell.kernels import begin_compiling, compile_kernels, needed_kernels
from caddis.cli.shell.logs import LogFormat, LogLevel, log_to_stderr
from caddis.cli.shell.machine import (
    JAVA_ADVICE,
    OLDEST_JAVA,
    find_java,
    require_java,
    require_matplotlib,
    start_spark,
)
from caddis.cli.shell.models import (
    NONE_GIVEN,
    ModelSummary,
    ProblemList,
    hinting_at_models,
    load_models,
    local_executor,
    milliseconds_a_run,
    with_models_hint,
)
from caddis.cli.shell.options import (
    AsJson,
    DemoFolder,
    EventKey,
    EventsFormat,
    IndexDir,
    Master,
    MatchesFolder,
    MatchesFormat,
    Models,
    OnError,
    OnInvalid,
    Overwrite,
    Policy,
    Schema,
    Statistics,
    Timezone,
    checked_timezone,
    examples,
    fills,
    flag,
    option,
)
from caddis.cli.shell.running import Job, Result, debugging, run
from caddis.cli.shell.screen import count, rate, short, show_rows, show_titled, text_table
