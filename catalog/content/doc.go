// Package content has what is known of the content of configs: checksums, edits, past contents, and what is mounted.
// It never has their data.
package content
