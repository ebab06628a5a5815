// Package tracker has all that this process knows of the restarts of each workload, in one [Table] with one lock. It is
// plain state: whoever decides, writes and reports changes a row with what became of that.
//
// Invariant: a row that knows nothing leaves the table, so the table is as large as what is under way.
package tracker
