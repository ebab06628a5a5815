// Package failures says what it means that a request failed, or could not be made: whether it can succeed later, what a metric
// calls it, and what helps.
package failures
