// Package leader asks the leader of the controller what it decides, and what is under way. It finds the leader
// by its Lease, and reaches the address of its status page as kubectl port-forward does, with the permissions
// of the caller.
//
// Errors say in one line what to do. What the leader says is limited in size, and may contain anything.
package leader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/internal/status"
)

// Place says where the leader is found.
type Place struct {
	// Namespace and Lease name the Lease by which replicas elect the leader.
	Namespace, Lease string
	// Port is that of the status page, in the leader's pod.
	Port uint16
	// URL is that of the status page of a leader that is no pod; empty if it is one.
	URL string
}

// Limits of how long the leader has to answer, and of how much it may say.
const (
	timeLimit = 3 * time.Second
	maxAnswer = 4 << 20
	// maxValues is how many values an answer may have. Short ones take many times their size when they are decoded.
	maxValues = 50_000
	// maxText is how many bytes each text in it may have: one that is wide widens all rows of a table.
	maxText = 64 << 10
)

// Leader is the leader of the controller.
type Leader struct {
	config *rest.Config
	place  Place
	lease  *status.Lease // as it was read last, nil if it was not
}

// New returns the leader at a place. It does not modify the configuration.
func New(config *rest.Config, place Place) *Leader { return &Leader{config: config, place: place} }

// Workload returns what the leader knows of an enabled workload, and the name of the leader.
func (l *Leader) Workload(ctx context.Context, ref names.WorkloadRef) (workload *status.Workload, name string, err error) {
	workload, name, err = ask[status.Workload](ctx, l, pathOf(ref))
	if err == nil && workload.Workload != ref.String() {
		return nil, name, fmt.Errorf("%s answers about something else", name)
	}
	return workload, name, err
}

// pathOf returns where the status page explains a workload.
func pathOf(ref names.WorkloadRef) string {
	return "/workload/" + strings.ToLower(string(ref.Kind)) + "/" + url.PathEscape(ref.Namespace) + "/" + url.PathEscape(ref.Name) + "/status.json"
}

// Overview returns what is under way in a namespace, or in all if it is empty, and the name of the leader.
func (l *Leader) Overview(ctx context.Context, namespace string) (overview *status.Overview, name string, err error) {
	path := "/status.json"
	if namespace != "" {
		path = "/namespace/" + url.PathEscape(namespace) + path
	}
	overview, name, err = ask[status.Overview](ctx, l, path)
	switch {
	case err != nil:
		return nil, name, err
	case !overview.Leads:
		return nil, name, &standby{name, overview}
	case overview.Namespace != namespace:
		return nil, name, fmt.Errorf("%s answers about something else", name)
	}
	shorten(overview)
	return overview, name, nil
}

// shorten cuts lists that are longer than those of a leader.
func shorten(o *status.Overview) {
	for _, entries := range []*status.List[status.Entry]{&o.Pending, &o.Waiting, &o.Held, &o.Slowed, &o.Rolling, &o.Failed, &o.Retrying, &o.Lacking, &o.Unready} {
		cut(entries)
	}
	o.Gaps = o.Gaps[:min(len(o.Gaps), status.Limit)]
	cut(&o.Watches)
	cut(&o.Holds)
	cut(&o.Mistakes)
	cut(&o.FanOuts)
	cut(&o.Halts)
	cut(&o.Restarts)
}

func cut[T any](list *status.List[T]) { list.Items = list.Items[:min(len(list.Items), status.Limit)] }

// standby is the answer of a replica that does not lead.
type standby struct {
	name string
	*status.Overview
}

func (s *standby) Error() string { return s.name + " stands by, so it does not know what is under way" }

// newStandby reads the answer of a replica that does not lead, nil if it is none.
func newStandby(name string, a answer) *standby {
	said := struct {
		Leads *bool `json:"leads"`
		*status.Overview
	}{Overview: new(status.Overview)}
	isRead := a.code == http.StatusServiceUnavailable && json.Unmarshal(a.body, &said) == nil
	if !isRead || said.Leads == nil || *said.Leads {
		return nil
	}
	shorten(said.Overview)
	return &standby{name, said.Overview}
}

// ask returns what the leader answers, and its name.
func ask[T any](ctx context.Context, l *Leader, path string) (*T, string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	from, name, err := l.find(ctx)
	if err != nil {
		return nil, "", err
	}
	got, err := from.get(ctx, path)
	if err != nil {
		return nil, name, l.explained(ctx, err, name)
	}
	into, err := decode[T](name, got)
	return into, name, err
}

// decode reads what a replica of that name answers.
func decode[T any](name string, got answer) (*T, error) {
	switch values, longest := measure(got.body); {
	case values > maxValues:
		return nil, fmt.Errorf("%s cannot be it: it answers with more than %d values", name, maxValues)
	case longest > maxText:
		return nil, fmt.Errorf("%s cannot be it: it answers with a text of more than %d KiB", name, maxText>>10)
	}
	if standby := newStandby(name, got); standby != nil {
		return nil, standby
	}
	if got.code != http.StatusOK {
		return nil, got.problem(name)
	}
	into := new(T)
	if err := json.Unmarshal(got.body, into); err != nil {
		return nil, fmt.Errorf("what %s answers cannot be read: is it the status page of the same version? %w", name, err)
	}
	return into, nil
}

// measure returns about how many values a text of JSON has, and how many bytes its longest string has as it is written.
func measure(text []byte) (values, longest int) {
	isString, begin := false, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			if isString = !isString; isString {
				begin = i + 1
			} else {
				longest = max(longest, i-begin)
			}
		case '\\':
			i++ // what follows ends no string
		case ',', '[', '{':
			if !isString {
				values++
			}
		}
	}
	return values, longest
}

// source answers requests for paths of the status page.
type source interface {
	get(ctx context.Context, path string) (answer, error)
}

// answer is an answer to a request.
type answer struct {
	code int
	body []byte
}

var errTooLarge = fmt.Errorf("it answers with more than %d MiB", maxAnswer>>20)

// newAnswer reads and closes the body.
func newAnswer(response *http.Response) (answer, error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return answer{}, err
	}
	if len(body) > maxAnswer {
		return answer{}, errTooLarge
	}
	return answer{response.StatusCode, body}, nil
}

// maxProblem is how many bytes of an error are shown.
const maxProblem = 300

// Unknown is the answer of a leader that knows no enabled workload of that name.
type Unknown struct {
	status.Problem
	said string
}

func (u *Unknown) Error() string { return u.said }

// problem returns what the page says is wrong: an [Unknown] if it is that of a leader.
func (a answer) problem(name string) error {
	var p status.Problem
	isOurs := json.Unmarshal(a.body, &p) == nil && p.Error != ""
	if !isOurs {
		p.Error = strings.TrimSpace(string(a.body))
	}
	said := fmt.Sprintf("%s answers %d: %s", name, a.code, p.Error[:min(len(p.Error), maxProblem)])
	if isOurs && a.code == http.StatusNotFound {
		return &Unknown{p, said}
	}
	return errors.New(said)
}

func loopback(port uint16) string { return net.JoinHostPort("localhost", strconv.Itoa(int(port))) }
