// Package logging makes the program's logger. No line has data of configs, what others have written is visible and short in
// it, and no namespace floods the log.
package logging

import (
	"context"
	"io"
	"log/slog"
	"strconv"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"kubernetes-deployment-restart-controller/internal/brief"
)

// The client library logs its work from the minimum verbosity on, and never
// more than at the maximum: beyond that, it logs responses, which contain the
// data of Secrets.
const (
	minClientVerbosity = 4
	maxClientVerbosity = 5
)

// New returns the program's logger, which writes lines of JSON or of text, and more of them the higher the verbosity. It makes the client library log
// through the same handler. Warnings of the API server are dropped: they are about what
// others have written, and admission webhooks and pod templates choose their text and number.
func New(asJSON bool, verbosity int, out io.Writer) *slog.Logger {
	level := slog.LevelInfo
	if verbosity > 0 {
		level = min(slog.LevelDebug, slog.Level(-verbosity))
	}
	handlerOptions := &slog.HandlerOptions{Level: level, ReplaceAttr: briefErrors}
	var handler slog.Handler = slog.NewTextHandler(out, handlerOptions) // which quotes what is invisible
	if asJSON {
		handler = slog.NewJSONHandler(visibleJSON{out}, handlerOptions)
	}
	throttled := newThrottledHandler(handler)
	ofClient := 0
	if verbosity >= minClientVerbosity {
		ofClient = min(verbosity, maxClientVerbosity)
	}
	klog.SetSlogLogger(slog.New(cappedHandler{throttled, slog.Level(-ofClient)}))
	var klogLevel klog.Level
	_ = klogLevel.Set(strconv.Itoa(ofClient)) // a number is always accepted
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	return slog.New(throttled)
}

// visibleJSON writes whole lines of JSON, in which whatever others have written is visible.
type visibleJSON struct{ io.Writer }

// Write implements [io.Writer].
func (w visibleJSON) Write(line []byte) (int, error) {
	_, err := w.Writer.Write(brief.JSON(line))
	return len(line), err
}

// briefErrors shortens the texts of errors, because others may write them.
func briefErrors(_ []string, attr slog.Attr) slog.Attr {
	if attr.Value.Kind() != slog.KindAny {
		return attr
	}
	if err, isError := attr.Value.Any().(error); isError {
		attr.Value = slog.StringValue(brief.Text(err.Error()))
	}
	return attr
}

// cappedHandler leaves out records below a level, whatever its inner handler
// accepts.
type cappedHandler struct {
	slog.Handler
	level slog.Level
}

// Enabled reports whether records of a level are handled.
func (h cappedHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level && h.Handler.Enabled(ctx, level)
}

// WithAttrs returns a handler that adds attributes.
func (h cappedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return cappedHandler{h.Handler.WithAttrs(attrs), h.level}
}

// WithGroup returns a handler that adds a group.
func (h cappedHandler) WithGroup(name string) slog.Handler {
	return cappedHandler{h.Handler.WithGroup(name), h.level}
}
