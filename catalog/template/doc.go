// Package template finds what a pod template reads of which configs: references with their keys, what hides keys from
// containers, and the filters by which people narrow what counts.
package template
