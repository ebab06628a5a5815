// Package events has the reasons of the Events that the controller creates.
package events
