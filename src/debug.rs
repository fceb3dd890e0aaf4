//! `--debug`: what the program tells about itself, on standard error.
//!
//! Libraries emit `tracing` events whose target is the category. Without `--debug` there is no
//! subscriber, and an event costs one comparison with a static level.

use std::fmt;
use std::io;

use ferrio_options::DebugSpec;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, filter};

/// `CATEGORY THREAD TEXT`, the first two padded to 8 and 5 places.
struct Line;

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let thread = rustix::thread::gettid().as_raw_nonzero();
        write!(writer, "{:<8} {thread:<5} ", event.metadata().target())?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// Shows the categories asked for from now on.
pub(crate) fn start(debug: &DebugSpec) {
    if debug.categories.is_empty() {
        return;
    }
    let wanted = debug.categories.clone();
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .event_format(Line)
        .with_filter(filter::filter_fn(move |metadata| {
            wanted.iter().any(|name| name == metadata.target())
        }));
    // Only a second call could fail.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer));
}
