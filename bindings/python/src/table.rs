//! Tables as Arrow: handed over by the Arrow C stream interface, which pyarrow, pandas, polars and
//! DuckDB read without a copy.

use std::sync::Arc;

use ::results::Column;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, NullArray, RecordBatch,
    RecordBatchIterator, RecordBatchOptions, StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::{PyImportError, PyKeyError, PyModuleNotFoundError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};

/// Named columns of equal length, in Arrow's form.
#[pyclass(frozen, module = "thinstream._native")]
pub(crate) struct Table {
    batch: RecordBatch,
}

/// Columns of a table in preparation.
#[derive(Default)]
pub(crate) struct Columns(Vec<(String, ArrayRef)>);

impl Columns {
    pub(crate) fn texts<T: AsRef<str>>(
        &mut self,
        name: &str,
        values: impl IntoIterator<Item = Option<T>>,
    ) {
        self.add(name, Arc::new(values.into_iter().collect::<StringArray>()));
    }

    pub(crate) fn numbers(&mut self, name: &str, values: impl IntoIterator<Item = Option<f64>>) {
        self.add(name, Arc::new(values.into_iter().collect::<Float64Array>()));
    }

    pub(crate) fn integers(&mut self, name: &str, values: impl IntoIterator<Item = Option<i64>>) {
        self.add(name, Arc::new(values.into_iter().collect::<Int64Array>()));
    }

    pub(crate) fn truths(&mut self, name: &str, values: impl IntoIterator<Item = Option<bool>>) {
        self.add(name, Arc::new(values.into_iter().collect::<BooleanArray>()));
    }

    pub(crate) fn unknown(&mut self, name: &str, length: usize) {
        self.add(name, Arc::new(NullArray::new(length)));
    }

    fn add(&mut self, name: &str, values: ArrayRef) {
        self.0.push((name.to_owned(), values));
    }

    /// An Arrow record batch of these columns, all nullable; fails where their lengths differ.
    pub(crate) fn table(self) -> PyResult<Table> {
        let fields: Vec<Field> = self
            .0
            .iter()
            .map(|(name, values)| Field::new(name, values.data_type().clone(), true))
            .collect();
        let rows = self.0.first().map_or(0, |(_, values)| values.len());
        let arrays = self.0.into_iter().map(|(_, values)| values).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
            .map(|batch| Table { batch })
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

/// A table of the laboratory, without a copy of its numbers.
pub(crate) fn of_lab(table: ::results::Table) -> PyResult<Table> {
    let mut columns = Columns::default();
    for (name, column) in table.columns {
        let values: ArrayRef = match column {
            Column::Text(values) => Arc::new(StringArray::from_iter_values(values)),
            Column::Integer(values) => Arc::new(Int64Array::from(values)),
            Column::Number(values) => Arc::new(Float64Array::from(values)),
        };
        columns.0.push((name, values));
    }
    columns.table()
}

fn values<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    match array.data_type() {
        DataType::Utf8 => PyList::new(py, array.as_string::<i32>().iter()),
        DataType::Int64 => PyList::new(py, array.as_primitive::<Int64Type>().iter()),
        DataType::Float64 => PyList::new(py, array.as_primitive::<Float64Type>().iter()),
        DataType::Boolean => PyList::new(py, array.as_boolean().iter()),
        _ => PyList::new(py, (0..array.len()).map(|_| py.None())),
    }
}

/// A package that an installation with `extra` has.
fn import<'py>(py: Python<'py>, name: &str, extra: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| match error.is_instance_of::<PyModuleNotFoundError>(py) {
        true => {
            let said = format!("this needs {name}: pip install \"thinstream[{extra}]\"");
            let clearer = PyImportError::new_err(said);
            clearer.set_cause(py, Some(error));
            clearer
        }
        false => error,
    })
}

#[pymethods]
impl Table {
    /// Arrow's PyCapsule interface: a stream of one batch.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer that wants other types casts them itself, as the interface allows.
        let _ = requested_schema;
        let schema = self.batch.schema();
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Number of rows, as Arrow calls it.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Python's values of the column, one for each row; `KeyError` if there is none of this name.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let Some(array) = self.batch.column_by_name(name) else {
            let known = self.column_names().join(", ");
            return Err(PyKeyError::new_err(format!("no column \"{name}\"; there are {known}")));
        };
        values(py, array)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        self.column(py, name)
    }

    /// A list for each column.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, array) in self.column_names().iter().zip(self.batch.columns()) {
            all.set_item(name, values(py, array)?)?;
        }
        Ok(all)
    }

    /// A dictionary for each row.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let names = self.column_names();
        let columns: Vec<_> =
            self.batch.columns().iter().map(|array| values(py, array)).collect::<PyResult<_>>()?;
        let row = |place: usize| {
            let one = PyDict::new(py);
            for (name, column) in names.iter().zip(&columns) {
                one.set_item(name, column.get_item(place)?)?;
            }
            Ok(one)
        };
        (0..self.batch.num_rows()).map(row).collect()
    }

    /// The table as `pyarrow.Table`, without a copy; needs pyarrow.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import(slf.py(), "pyarrow", "arrow")?.getattr("table")?.call1((slf,))
    }

    /// The table as `pandas.DataFrame`; needs pandas and pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import(slf.py(), "pandas", "pandas")?;
        Table::to_pyarrow(slf)?.call_method0("to_pandas")
    }

    /// The table as `polars.DataFrame`; needs polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import(slf.py(), "polars", "polars")?.getattr("DataFrame")?.call1((slf,))
    }

    fn __repr__(&self) -> String {
        let names = self.column_names().join(", ");
        format!("<thinstream.Table of {} rows: {names}>", self.batch.num_rows())
    }

    /// Iterates the rows, each a tuple with a value for each column.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let columns: Vec<_> =
            self.batch.columns().iter().map(|array| values(py, array)).collect::<PyResult<_>>()?;
        let rows = (0..self.batch.num_rows()).map(|place| {
            let row: Vec<_> =
                columns.iter().map(|column| column.get_item(place)).collect::<PyResult<_>>()?;
            PyTuple::new(py, row)
        });
        let rows: Vec<_> = rows.collect::<PyResult<_>>()?;
        Ok(PyList::new(py, rows)?.try_iter()?.into_any())
    }
}
