// Package objecttest has objects and API servers for tests. Of the controller, it imports only package gate.
package objecttest
