// Package counting knows which workloads count, from what they, their Namespaces and the rules say, and leaves those alone that
// cannot be restarted or refer to too many configs.
package counting
