// Package chart holds the tests of the Helm chart that need no cluster: what it renders
// with which values, and that this is what the files in k8s-manifests/ say. The tests in
// package test install it.
package chart
