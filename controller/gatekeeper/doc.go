// Package gatekeeper asks package gate when restarts may begin, with what the catalog knows, and notes what becomes of them.
package gatekeeper
