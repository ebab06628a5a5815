// Package judge finds out, apart from what is decided, what is wrong with workloads: that they are stale, lack a config, or have
// pods that read content for which their restart is held.
package judge
