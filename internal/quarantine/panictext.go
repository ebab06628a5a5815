package quarantine

import (
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"
)

// describe describes the value of a panic, without anything that may be content of an
// object. It returns the text of the runtime's own errors, such as an index out of range,
// and only the type of any other value.
func describe(value any) string {
	kind := reflect.TypeOf(value)
	if err, isRuntimes := value.(runtime.Error); isRuntimes && packageOf(kind) == "runtime" {
		return err.Error()
	}
	return fmt.Sprintf("a value of type %T", value)
}

func packageOf(kind reflect.Type) string {
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	return kind.PkgPath()
}

// maxFrames is how many frames of a stack are shown.
const maxFrames = 32

// stack returns the functions and lines that led to the panic that is being recovered, the
// last first. It must be called while the goroutine still panics.
func stack() string {
	counters := make([]uintptr, 2*maxFrames)
	frames := runtime.CallersFrames(counters[:runtime.Callers(1, counters)])
	var lines []string
	panicked := false
	for {
		frame, more := frames.Next()
		if panicked && len(lines) < maxFrames && !strings.HasPrefix(frame.Function, "runtime.") {
			lines = append(lines, fmt.Sprintf("%s (%s:%d)", frame.Function, path.Base(frame.File), frame.Line))
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
		if !more {
			return strings.Join(lines, " < ")
		}
	}
}
