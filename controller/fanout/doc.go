// Package fanout tells the owners of configs how far their content has come.
package fanout
