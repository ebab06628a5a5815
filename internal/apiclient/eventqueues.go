package apiclient

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

const (
	// maxEvents is how many Events may wait altogether, and maxNamespaceEvents how many of one
	// namespace: the end of a halt is told to all that it held at once, and who isn't told keeps
	// a warning as the last word. fewEvents of each namespace may wait in any case, so that ten
	// namespaces cannot silence all others.
	maxEvents, maxNamespaceEvents, fewEvents = 5000, 500, 5
	// eventTries is how often an Event is sent if no answer comes, with a pause in between.
	// client-go does the same.
	eventTries, eventPause = 12, 10 * time.Second
)

// write sends an Event. It returns nil if sending it again would be pointless.
type write func(context.Context) error

// eventQueues holds the Events that wait to be written. The Events of a namespace are written
// in order, each after the previous one has been answered, and do not wait for other
// namespaces. A namespace is forgotten when none of its Events wait any more.
type eventQueues struct {
	mu         sync.Mutex
	namespaces map[string]*eventQueue
	waiting    int // in all namespaces
}

// eventQueue holds the Events of one namespace.
type eventQueue struct {
	writes  []write // the first one is under way
	dropped int
}

func newEventQueues() *eventQueues { return &eventQueues{namespaces: map[string]*eventQueue{}} }

// add queues an Event. It is dropped if there are too many.
func (q *eventQueues) add(namespace string, w write) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.namespaces[namespace]
	if queue == nil {
		queue = &eventQueue{}
		q.namespaces[namespace] = queue
		go q.run(namespace, queue)
	}
	if n := len(queue.writes); n == maxNamespaceEvents || n >= fewEvents && q.waiting >= maxEvents {
		if queue.dropped++; queue.dropped == 1 {
			klog.Background().Error(nil, "Dropping Events of a namespace: earlier ones have not been answered", "namespace", namespace)
		}
		return
	}
	queue.writes = append(queue.writes, w)
	q.waiting++
}

// run writes the Events of a namespace until none are waiting.
func (q *eventQueues) run(namespace string, queue *eventQueue) {
	for {
		w := q.next(namespace, queue)
		if w == nil {
			return
		}
		send(namespace, w)
		q.mu.Lock()
		queue.writes[0], queue.writes = nil, queue.writes[1:]
		q.waiting--
		q.mu.Unlock()
	}
}

// next returns the first Event of a namespace. If there is no Event, it forgets the namespace
// and returns nil.
func (q *eventQueues) next(namespace string, queue *eventQueue) write {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(queue.writes) > 0 {
		return queue.writes[0]
	}
	delete(q.namespaces, namespace)
	if queue.dropped > 0 {
		klog.Background().Error(nil, "Events of a namespace were dropped", "namespace", namespace, "events", queue.dropped)
	}
	return nil
}

// send writes an Event. A refusal is final. The recorder has no context; the client's timeout
// limits each try.
func send(namespace string, w write) {
	for try := 1; ; try++ {
		err := w(context.Background())
		switch {
		case err == nil:
			return
		case !IsUnanswered(err) || try == eventTries:
			klog.Background().Error(err, "Unable to write an Event", "namespace", namespace, "tries", try)
			return
		}
		time.Sleep(eventPause)
	}
}
