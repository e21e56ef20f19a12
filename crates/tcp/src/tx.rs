//! The sending side of a connection.
