package custom

import (
	"slices"

	"kubernetes-deployment-restart-controller/catalog/workload"
)

// deploymentConfig is the DeploymentConfig of OpenShift. Its status counts the pods of the latest rollout, which may
// be one for an earlier template, so the pods themselves show how a rollout goes.
var deploymentConfig = &preset{resource: "deploymentconfigs", group: "apps.openshift.io", kind: "DeploymentConfig", version: "v1", read: readDeploymentConfig}

// triggers are what begins a rollout by itself; if they are missing, that is a change of the template.
type triggers *[]struct {
	Type string `json:"type"`
}

func readDeploymentConfig(o *opened, parts *workload.Parts) {
	triggers := read[triggers](o.spec["triggers"])
	if triggers != nil && parts.Hold == workload.NoHold {
		isTriggered := false
		for _, trigger := range *triggers {
			isTriggered = isTriggered || trigger.Type == "ConfigChange"
		}
		if !isTriggered {
			parts.Hold = workload.Untriggered
		}
	}
	status := read[struct {
		Conditions []condition `json:"conditions"`
	}](o.Status)
	// A rollout that has failed is rolled back at once; one that somebody has canceled has another reason.
	if slices.ContainsFunc(status.Conditions, func(c condition) bool {
		return c.Type == "Progressing" && c.Status == "False" && c.Reason == "ProgressDeadlineExceeded"
	}) {
		parts.Rollout.Course, parts.Rollout.GaveUp = workload.Aborted, true
	}
}
