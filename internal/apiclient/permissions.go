package apiclient

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// Permission is a permission that the program needs.
type Permission struct {
	Verb, Group, Resource string // the resource with its subresource, as in RBAC: deployments/status
	Namespace             string // empty: all namespaces
	Name                  string // the only object that it is needed for; empty: all
	// Impact is what does not work without the permission.
	Impact string
	// Manifest names the one that grants it, beside those of the same name that grant it in single namespaces.
	Manifest string
}

// String returns the permission as RBAC would name it, such as "patch
// deployments.apps in namespace team-a".
func (r Permission) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}

// IsRefusedIn reports whether a text has the API server's refusal of what the permission allows, in whatever namespace. That of a
// subresource has other words.
func (r Permission) IsRefusedIn(text string) bool {
	return strings.Contains(text, fmt.Sprintf("cannot %s resource %q", r.Verb, r.Resource))
}

// Missing asks the API server which of the permissions the client lacks. Every
// client may ask that.
func Missing(ctx context.Context, config *rest.Config, permissions []Permission) ([]Permission, error) {
	limited := rest.CopyConfig(config)
	limited.QPS, limited.Burst = 50, 100 // there are several for each namespace, and nothing waits for the result
	client, err := ConnectGroup(limited, authorizationv1.SchemeGroupVersion)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	var missing []Permission
	for _, permission := range permissions {
		review := &authorizationv1.SelfSubjectAccessReview{}
		err := client.Post().Resource("selfsubjectaccessreviews").Body(permission.review()).Do(ctx).Into(review)
		if err != nil {
			return nil, fmt.Errorf("review the permission to %s: %w", permission, err)
		}
		if !review.Status.Allowed {
			missing = append(missing, permission)
		}
	}
	return missing, nil
}

func (r Permission) review() *authorizationv1.SelfSubjectAccessReview {
	resource, subresource, _ := strings.Cut(r.Resource, "/")
	return &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: r.Verb, Group: r.Group, Resource: resource, Subresource: subresource, Namespace: r.Namespace, Name: r.Name,
		}},
	}
}
