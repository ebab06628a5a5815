// Package catalogtest has what the catalog makes of such objects, for tests. It may import nothing above package dialect.
package catalogtest
