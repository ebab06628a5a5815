// Package gitops holds the tests of the health checks in examples/gitops: Argo CD's in Lua and Flux's in CEL run in the
// engines that these tools use, on workloads of a local cluster whose restarts wait, roll and fail.
//
// It is a module of its own, so that the engines are no dependency of the controller.
package gitops
