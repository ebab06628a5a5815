// Package annotation has the annotations that people and the controller write, where each of them counts, and who wrote
// them and when, as far as managedFields say so.
package annotation
