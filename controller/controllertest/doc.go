// Package controllertest has parts of a controller for tests.
package controllertest
