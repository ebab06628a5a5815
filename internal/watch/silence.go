package watch

import (
	"context"
	"errors"
	"sync"
	"time"

	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// silenceLimit is how long a stream may show nothing, not even a bookmark, of which the
// API server sends one a minute. A proxy in between may have lost the stream while the
// connection still answers pings, and nothing else would ever notice. If a server sends
// no bookmarks, this costs a list now and then.
const silenceLimit = 2 * time.Minute

var errSilent = errors.New("the API server has been silent for " + silenceLimit.String())

// attentive is a stream that ends by itself when it has been silent for too long.
type attentive struct {
	source  apiwatch.Interface
	end     context.CancelCauseFunc // of the request
	events  chan apiwatch.Event
	stopped chan struct{}
	stop    sync.Once
	silent  func() // called before the stream ends because of silence
}

// openAttentively opens a stream. It returns an error if no answer comes within the
// limit of silence; if the stream falls silent later, it calls silent.
func openAttentively(ctx context.Context, open func(context.Context) (apiwatch.Interface, error), silent func()) (apiwatch.Interface, error) {
	ctx, end := context.WithCancelCause(ctx)
	patience := time.AfterFunc(silenceLimit, func() { end(errSilent) })
	source, err := open(ctx)
	if inTime := patience.Stop(); err != nil {
		end(err)
		if !inTime {
			err = errSilent
		}
		return nil, err
	}
	a := &attentive{source: source, end: end, events: make(chan apiwatch.Event), stopped: make(chan struct{}), silent: silent}
	go a.run()
	return a, nil
}

// ResultChan returns the channel of the events. It is closed at the end of the
// stream.
func (a *attentive) ResultChan() <-chan apiwatch.Event { return a.events }

// Stop ends the stream; it may be called repeatedly.
func (a *attentive) Stop() { a.stop.Do(func() { close(a.stopped) }) }

func (a *attentive) run() {
	defer close(a.events)
	defer a.end(nil)
	defer a.source.Stop()
	patience := time.NewTimer(silenceLimit)
	defer patience.Stop()
	for {
		select {
		case <-a.stopped:
			return
		case <-patience.C:
			a.silent()
			return
		case event, more := <-a.source.ResultChan():
			if !more {
				return
			}
			select {
			case <-a.stopped:
				return
			case a.events <- event:
				patience.Reset(silenceLimit)
			}
		}
	}
}
