package objecttest

import (
	"fmt"
	"strings"
)

var LongName = strings.Repeat("x", 253)

func EntriesOf(format string, count int) string {
	entries := make([]string, count)
	for i := range entries {
		entries[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(entries, ",")
}
