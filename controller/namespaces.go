package controller

import (
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// selection is how many of the known Namespaces are selected. The lock of [optIns] protects it.
type selection struct {
	selected int
	unlisted map[string]struct{} // what is watched and has not been listed yet, by name, empty: all
	isEmpty  bool                // which has been reported
}

func newSelection(namespaces []string) selection {
	s := selection{unlisted: make(map[string]struct{})}
	for _, name := range apiclient.NamespacesOrAll(namespaces) {
		s.unlisted[name] = struct{}{}
	}
	return s
}

// count takes in that a Namespace changed; it is nil before it exists, and after.
func (s *selection) count(before, after *optin.Namespace) {
	if before != nil && before.IsSelected {
		s.selected--
	}
	if after != nil && after.IsSelected {
		s.selected++
	}
}

// report reports once that a selector selects no Namespace, and again if it had selected one meanwhile: a typo in it would
// otherwise look like a cluster in which nothing is enabled.
func (s *selection) report(log *slog.Logger, rules *optin.Rules) {
	if rules.Selector == nil || len(s.unlisted) > 0 {
		return
	}
	if isEmpty := s.selected == 0; isEmpty != s.isEmpty {
		if s.isEmpty = isEmpty; isEmpty {
			log.Warn("the namespace selector selects no namespace, so no workload is enabled", "selector", rules.Selector.String())
		}
	}
}

// namespaceKind is how Namespaces are read, which are watched only if the rules need them.
type namespaceKind struct{ rules *optin.Rules }

func (namespaceKind) kind() schema.GroupVersionKind {
	return corev1.SchemeGroupVersion.WithKind("Namespace")
}

// reduce reduces a Namespace to an observation.
func (k namespaceKind) reduce(object any) (*observation, error) {
	namespace, isOne := object.(*corev1.Namespace)
	if !isOne {
		return nil, fmt.Errorf("reduce object: unexpected type %T, want Namespace", object)
	}
	reduced := k.rules.ReadNamespace(&namespace.ObjectMeta)
	mistake := newMistake(namespace.UID, dialect.NamespaceMistakes(k.rules, namespace))
	return &observation{resourceVersion: namespace.ResourceVersion, namespace: &reduced, mistake: mistake}, nil
}

// observeNamespace takes in a Namespace, and what that changes for its workloads. The watch showed it at the given
// time, as far as it shows more than a list does; otherwise that is zero.
func (in *intake) observeNamespace(namespace *optin.Namespace, shown time.Time) {
	in.takeNamespace(namespace, shown)
	in.optIns.reportSelection(in.log)
}

func (in *intake) takeNamespace(namespace *optin.Namespace, shown time.Time) {
	if in.optIns.takeNamespace(namespace, shown) {
		in.reconsider(namespace.Name)
	}
}

// forgetNamespace takes in that a Namespace is gone, as its workloads are or soon will be.
func (in *intake) forgetNamespace(name string) {
	in.optIns.forgetNamespace(name)
	in.optIns.reportSelection(in.log)
}

// listNamespaces takes in all Namespaces, or, unless it is empty, the only one of that name that is watched.
func (in *intake) listNamespaces(only string, all []*observation) {
	listed := make(map[string]struct{}, len(all))
	for _, o := range all {
		listed[o.namespace.Name] = struct{}{}
		in.takeNamespace(o.namespace, time.Time{})
	}
	in.optIns.keepNamespaces(only, listed)
	in.optIns.reportSelection(in.log)
}

// takeNamespace notes a Namespace, and reports whether it says something else about its workloads than before.
func (o *optIns) takeNamespace(namespace *optin.Namespace, shown time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.namespaces[namespace.Name]
	if known != nil {
		namespace.Succeed(known, shown)
	}
	o.namespaces[namespace.Name] = namespace
	o.selection.count(known, namespace)
	return known == nil || known.Choice != namespace.Choice || known.IsSelected != namespace.IsSelected
}

// forgetNamespace forgets a Namespace that is gone.
func (o *optIns) forgetNamespace(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.selection.count(o.namespaces[name], nil)
	delete(o.namespaces, name)
}

// keepNamespaces forgets the Namespaces that a list of all does not have, or, unless it is empty, the only one of that name.
func (o *optIns) keepNamespaces(only string, listed map[string]struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, namespace := range o.namespaces {
		if _, isListed := listed[name]; !isListed && (only == "" || only == name) {
			o.selection.count(namespace, nil)
			delete(o.namespaces, name)
		}
	}
	delete(o.selection.unlisted, only)
}

// reportSelection reports once that the selector of Namespaces selects none.
func (o *optIns) reportSelection(log *slog.Logger) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.selection.report(log, &o.rules)
}
