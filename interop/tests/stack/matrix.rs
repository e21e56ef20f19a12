//! The quick rows of the matrix with every peer that is there; `make interop` runs all of it.

use interop::available;
use interop::matrix::{Column, Matrix, Run};

#[track_caller]
fn assert_quick_rows_pass(columns: &[Column]) {
    let matrix = Matrix::open(columns).unwrap();
    let there = |column: &Column| {
        available(matrix.missing(*column).map_or(Ok(()), |missing| Err(missing.clone())))
    };
    let columns: Vec<Column> = columns.iter().copied().filter(|c| there(c).is_some()).collect();
    let runs = Run::quick(&columns);
    let table = matrix.run(&runs, |run, outcome| println!("{}: {outcome:?}", run.title()));
    let failures: Vec<String> =
        table.failures().map(|(run, why)| format!("{}: {why}", run.title())).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn usrsctp_passes() {
    assert_quick_rows_pass(&[Column::UsrsctpUdp, Column::UsrsctpRaw]);
}

#[test]
fn the_kernel_passes() {
    assert_quick_rows_pass(&[Column::KernelUdp, Column::KernelRaw]);
}

#[test]
fn pion_passes() {
    assert_quick_rows_pass(&[Column::Pion]);
}

#[test]
fn stacks_in_virtual_time_pass() {
    assert_quick_rows_pass(&[Column::DcSctp, Column::SctpProto]);
}
