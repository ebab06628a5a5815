// Package wording words what Events, logs and the status say. It names no keys of Secrets.
package wording
