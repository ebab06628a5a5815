// Package names has the names of what the catalog knows: configs, workloads, their kinds, and the moments at which a
// watch showed something. All packages of the catalog use it; it uses none of them.
package names
