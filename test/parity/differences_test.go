package parity

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// differenceOf returns what differs, or nothing.
func differenceOf(oracle, subject *snapshot) string {
	var found differences
	cmp.Equal(oracle, subject, cmp.Reporter(&found))
	return strings.Join(found.lines, "\n")
}

// differences collects what go-cmp finds, one line for each: where, and the two
// values. cmp.Diff would show whole objects around them.
type differences struct {
	path  cmp.Path
	lines []string
}

// PushStep implements the interface of [cmp.Reporter], as do the other methods.
func (d *differences) PushStep(step cmp.PathStep) { d.path = append(d.path, step) }

// PopStep goes back to the parent.
func (d *differences) PopStep() { d.path = d.path[:len(d.path)-1] }

// Report takes the outcome of the comparison at the present path.
func (d *differences) Report(result cmp.Result) {
	if result.Equal() {
		return
	}
	oracle, subject := d.path.Last().Values()
	d.lines = append(d.lines, fmt.Sprintf("%#v\n\t- %s\n\t+ %s", d.path, shown(oracle), shown(subject)))
}

func shown(value reflect.Value) string {
	if !value.IsValid() {
		return "(nothing)"
	}
	if value.Kind() == reflect.Struct || value.Kind() == reflect.Pointer {
		text, err := yaml.Marshal(value.Interface())
		if err == nil {
			return string(text)
		}
	}
	return fmt.Sprintf("%#v", value)
}
