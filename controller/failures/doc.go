// Package failures says what it means that a request failed, or could not be made: whether it can succeed later, what a
// metric calls it, and what helps. Failures that pass (conflicts, an unavailable API server, too many requests) are not
// reported at once. Others are, and are tried again anyway.
package failures
