package objecttest

import "regexp"

// DrawnKeys are all keys that drawn configs have.
var DrawnKeys = []string{"a", "b", "c"}

var Dollars = regexp.MustCompile(`\$\$|\$\(([^)]*)\)`)
