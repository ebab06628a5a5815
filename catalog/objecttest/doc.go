// Package objecttest has objects as the API shows them, for tests. It may import nothing above package annotation.
package objecttest
