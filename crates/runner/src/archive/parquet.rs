//! The Parquet form of a table.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use results::{Column, Table};

/// Writes the table as one row group. Texts repeat and are kept in dictionaries, so there is no
/// other compression.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(table: &Table, out: &mut (impl Write + Send)) -> io::Result<()> {
    write_table(table, out).map_err(io::Error::other)
}

fn write_table(table: &Table, out: &mut (impl Write + Send)) -> Result<(), ParquetError> {
    let fields = table.columns.iter().map(|(name, column)| field(name, column).map(Arc::new));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_created_by("thinstream".to_owned())
        .build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (_, column) in &table.columns {
        let Some(mut writer) = group.next_column()? else { break };
        match column {
            Column::Text(values) => {
                let values: Vec<ByteArray> =
                    values.iter().map(|value| ByteArray::from(value.as_str())).collect();
                writer.typed::<ByteArrayType>().write_batch(&values, None, None)?;
            }
            Column::Integer(values) => {
                writer.typed::<Int64Type>().write_batch(values, None, None)?;
            }
            Column::Number(values) => {
                writer.typed::<DoubleType>().write_batch(values, None, None)?;
            }
        }
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

fn field(name: &str, column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column {
        Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Column::Integer(_) => (Physical::INT64, None),
        Column::Number(_) => (Physical::DOUBLE, None),
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(logical)
        .build()
}
