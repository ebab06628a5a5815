// Package launcher starts, watches and stops the components of a local cluster.
//
// A cluster is a directory: its state, its logs and its lock live there, and at most one `up` runs in it. Each
// component is a member of the cluster: a command line that stays the same, ports included, and at most one process
// that runs it. A member can be killed and started again while the cluster runs.
//
// Guarantees:
//   - Everything listens on 127.0.0.1 only.
//   - Each `up` starts an empty cluster.
//   - No component outlives its `up`, however that ends: each one looks for its parent (ExitWithParent).
//   - The lock of the directory is shared by the components, so that it is free only when the last of them is gone.
package launcher
