// Package evict carries out the restarts by eviction, pod by pod.
package evict
