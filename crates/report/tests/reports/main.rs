//! Reports against the specification's vectors, and what must hold for every report.

mod json_document;
mod render;
mod strict_json;
mod vectors;
