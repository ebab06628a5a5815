// Package catalogtest has what the catalog makes of the objects of package objecttest, for tests. It may import nothing
// above package dialect.
package catalogtest
