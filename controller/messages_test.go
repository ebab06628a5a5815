package controller

import (
	"fmt"
	"testing"

	"kubernetes-deployment-restart-controller/catalog"
)

func TestARestartNamesConfigsAndKeysButNotThoseOfSecrets(t *testing.T) {
	secret := catalog.ConfigRef{Kind: catalog.Secret, Namespace: "ns", Name: "tls"}
	var many []string
	for i := range maxNamedKeys + 2 {
		many = append(many, fmt.Sprint(i))
	}
	for _, test := range []struct {
		name   string
		causes []catalog.Cause
		want   string
	}{
		{"keys of a configmap", []catalog.Cause{{Config: mapA, Keys: []string{"x", "y"}}}, "configmap a changed (keys: x, y)"},
		{"a change that nobody saw", []catalog.Cause{{Config: mapA}}, "configmap a changed (keys unknown)"},
		{"one key of a secret", []catalog.Cause{{Config: secret, Keys: []string{"x"}}}, "secret tls changed (1 key)"},
		{"keys of a secret", []catalog.Cause{{Config: secret, Keys: []string{"x", "y"}}}, "secret tls changed (2 keys)"},
		{"several configs", []catalog.Cause{{Config: mapA, Keys: []string{"x"}}, {Config: secret}}, "configmap a changed (keys: x); secret tls changed (keys unknown)"},
		{"very many keys", []catalog.Cause{{Config: mapA, Keys: many}}, "configmap a changed (keys: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := describe(test.causes); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestWhatKeepsChangingIsToldWithItsWriters(t *testing.T) {
	secret := catalog.ConfigRef{Kind: catalog.Secret, Namespace: "ns", Name: "tls"}
	for name, test := range map[string]struct {
		cause catalog.Cause
		want  string
	}{
		"keys of a configmap": {catalog.Cause{Config: mapA, Keys: []string{"x"}, Writers: []string{"helm"}}, "configmap a keeps changing (keys: x; written by helm)"},
		"keys of a secret":    {catalog.Cause{Config: secret, Keys: []string{"x", "y"}, Writers: []string{"a", "b"}}, "secret tls keeps changing (2 keys; written by a, b)"},
		"nobody saw it":       {catalog.Cause{Config: secret, Writers: []string{"a"}}, "secret tls keeps changing (keys unknown; written by a)"},
		"a key was removed":   {catalog.Cause{Config: mapA, Keys: []string{"x"}}, "configmap a keeps changing (keys: x)"},
	} {
		if got := describeWithWriters([]catalog.Cause{test.cause}); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestOnlyAHoldLeavesSomethingToDo(t *testing.T) {
	for hold, want := range map[catalog.Hold]string{
		catalog.NoHold:      "",
		catalog.Paused:      ". The deployment is paused: its pods restart when it is resumed",
		catalog.OnDelete:    ". The update strategy of the deployment is OnDelete: each pod restarts when it is deleted",
		catalog.Partitioned: ". The deployment has a partition: pods with an ordinal below it keep running until it is lowered",
	} {
		if got := describeHold(&catalog.Workload{Ref: web, Hold: hold}); got != want {
			t.Errorf("%q: got %q, want %q", hold, got, want)
		}
	}
}
