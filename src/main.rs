//! The ferrio command: reads the command line, runs the jobs, shows the report.

mod console;
mod debug;
mod show;

use std::ffi::OsString;
use std::process::ExitCode;

use console::Console;
use ferrio_options::{Outcome, Parsed, Persona, RunSpec, SystemHost};
use ferrio_runner::clock::{Clock, Starting};

/// Exit status when what was asked for could not be shown or begun.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    let clock = Clock::start();
    let args: Vec<OsString> = std::env::args_os().collect();
    let persona = args
        .first()
        .map_or(Persona::Ferrio, |program| Persona::from_program(program));
    let parsed = ferrio_options::parse(&args, &SystemHost);
    ExitCode::from(act(parsed, persona, clock))
}

/// Does what the command line says and returns the exit status.
fn act(parsed: Parsed, persona: Persona, clock: Starting) -> u8 {
    let mut console = match Console::open(persona, &parsed.output) {
        Ok(console) => console,
        Err(text) => {
            eprintln!("{}: {text}", persona.word());
            return FAILED;
        }
    };
    for diagnostic in &parsed.diagnostics {
        console.diagnostic(diagnostic);
    }
    let status = match parsed.outcome {
        Outcome::Run(spec) => run(&spec, &mut console, clock),
        Outcome::Exit { status, stdout } => {
            if stdout.is_empty() && status != 0 {
                console.report_refusal();
            }
            console.print(&stdout);
            status
        }
    };
    console.close(status)
}

/// Runs the jobs and shows the report.
fn run(spec: &RunSpec, console: &mut Console, clock: Starting) -> u8 {
    debug::start(&spec.debug);
    console.headlines(spec);
    if spec.setup_only {
        return 0;
    }
    let outcome = ferrio_runner::run(spec, clock, console.cadence(), console);
    console.report(outcome.result);
    outcome.status
}
