package leader

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubernetes-deployment-restart-controller/internal/status"
)

// Leads reports whether the lease was held when it was read last, by the clock of this machine; nil if it was not read.
func (l *Leader) Leads(now time.Time) *bool {
	if l.lease == nil {
		return nil
	}
	return new(l.lease.IsHeld(now))
}

// Nobody returns what follows if nobody leads; false if somebody does, or if the caller cannot know.
func (l *Leader) Nobody(ctx context.Context, now time.Time) (status.Gap, bool) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	_, _ = l.pod(ctx) // which reads the lease, unless the caller may not
	if leads := l.Leads(now); leads == nil || *leads {
		return status.Gap{}, false
	}
	return l.lease.NobodyLeads(), true
}

// Gaps says what it means that the leader could not be asked, for which reason: first what is known of the leader, then what
// a replica says that stands by.
func (l *Leader) Gaps(ctx context.Context, err error, now time.Time) []status.Gap {
	var asked *standby
	isStandby := errors.As(err, &asked)
	why := err.Error()
	if problem := l.seek(ctx); problem != nil && isStandby && asked.Lease != nil && asked.Lease.Holder != "" {
		l.lease = asked.Lease
	} else if problem != nil {
		why += "; nor is it known whether anybody leads: " + problem.Error()
	}
	gap := status.Gap{Text: "The leader cannot be asked, so this is only what the cluster shows", Why: why}
	switch leads := l.Leads(now); {
	case leads == nil:
	case !*leads:
		gap = l.lease.NobodyLeads()
		gap.Why = why
	default:
		gap.Text += fmt.Sprintf(": by its lease of %d s, pod %s leads", l.lease.Seconds, l.lease.Holder)
		gap.Since = l.lease.Since
	}
	gaps := []status.Gap{gap}
	if isStandby {
		for _, gap := range asked.Overview.Gaps {
			gap.Text = asked.name + " says: " + gap.Text
			gaps = append(gaps, gap)
		}
	}
	return gaps
}

// seek reads the lease if that was not needed to find the leader. It returns an error only if the lease is unknown then.
func (l *Leader) seek(ctx context.Context) error {
	if l.place.URL == "" || l.lease != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	if _, err := l.pod(ctx); l.lease == nil {
		return err
	}
	return nil
}

// explained says what an error means that kept the leader from answering.
func (l *Leader) explained(ctx context.Context, err error, name string) error {
	var port portError
	switch {
	case errors.Is(err, errTooLarge):
		return fmt.Errorf("%s cannot be it: %w", name, err)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return late(name)
	case ctx.Err() != nil:
		return ctx.Err()
	case apierrors.IsForbidden(err):
		return permanent("you may not reach %s: you need permission to create pods/portforward in namespace %s", name, l.place.Namespace)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no %s in namespace %s: it is gone, or it runs outside of the cluster, which --status-url is for", name, l.place.Namespace)
	case errors.As(err, &port):
		return permanent("%s serves no status page at port %d: start the controller with --status-address=127.0.0.1:%d, or say which port it is with --status-port (%.200q)", name, l.place.Port, l.place.Port, port.said)
	}
	return fmt.Errorf("%s cannot be asked: %.500s", name, strings.ReplaceAll(err.Error(), "\n", "; "))
}

// Permanent is an error that waiting does not mend, such as a missing permission.
type Permanent struct{ said string }

func (e *Permanent) Error() string { return e.said }

func permanent(format string, values ...any) error { return &Permanent{fmt.Sprintf(format, values...)} }

func late(who string) error {
	return fmt.Errorf("%s has not answered within %s", who, timeLimit)
}
