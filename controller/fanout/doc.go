// Package fanout tells the owners of configs how far their content has come: an Event when a fan-out has got on, and
// one when it is over.
package fanout
