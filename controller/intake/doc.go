// Package intake takes in what the watches show: it lets the catalog know, queues changes, and drops what waits for what is gone.
package intake
