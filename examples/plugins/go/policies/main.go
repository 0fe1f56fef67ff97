// Example of contract 0.2: the policies that clusters have most, in a few lines each. A plugin's entry picks one:
// config: {policy: noPrivileged}. Take the file that a policy of yours is closest to.
package main

import "witlet.dev/plugin/v0_2/admission"

var policies = admission.OneOf(map[string]admission.Maker{
	"allowedRegistries":     admission.Made[allowedRegistries],
	"noLatestTag":           admission.Made[noLatestTag],
	"digestRequired":        admission.Made[digestRequired],
	"pullPolicy":            admission.Made[pullPolicy],
	"imagesAtMost":          admission.Made[imagesAtMost],
	"imageUpdates":          admission.Made[imageUpdates],
	"noPrivileged":          admission.Made[noPrivileged],
	"capabilities":          admission.Made[capabilities],
	"runAsNonRoot":          admission.Made[runAsNonRoot],
	"noPrivilegeEscalation": admission.Made[noPrivilegeEscalation],
	"readOnlyRoot":          admission.Made[readOnlyRoot],
	"seccompRequired":       admission.Made[seccompRequired],
	"appArmorProfiles":      admission.Made[appArmorProfiles],
	"userIds":               admission.Made[userIds],
	"userNamespaces":        admission.Made[userNamespaces],
	"debugContainers":       admission.Made[debugContainers],
	"noHostPath":            admission.Made[noHostPath],
	"hostPathsReadOnly":     admission.Made[hostPathsReadOnly],
	"noHostNamespaces":      admission.Made[noHostNamespaces],
	"hostPortRange":         admission.Made[hostPortRange],
	"volumeKinds":           admission.Made[volumeKinds],
	"limitsRequired":        admission.Made[limitsRequired],
	"limitRatio":            admission.Made[limitRatio],
	"podSize":               admission.Made[podSize],
	"guaranteedQos":         admission.Made[guaranteedQos],
	"resizeAtMost":          admission.Made[resizeAtMost],
	"requiredLabels":        admission.Made[requiredLabels],
	"requiredAnnotations":   admission.Made[requiredAnnotations],
	"ownerKinds":            admission.Made[ownerKinds],
	"noServiceAccountToken": admission.Made[noServiceAccountToken],
	"serviceAccounts":       admission.Made[serviceAccounts],
	"priorityClasses":       admission.Made[priorityClasses],
	"envSecrets":            admission.Made[envSecrets],
	"nodeZone":              admission.Made[nodeZone],
	"spreadReplicas":        admission.Made[spreadReplicas],
	"headroom":              admission.Made[headroom],
	"underPressure":         admission.Made[underPressure],
})

// What handlers subscribe to that don't check containers and images alone.
type (
	onAdd    struct{}
	onUpdate struct{}
	onResize struct{}
	// onAddAndResize is when resources are decided on.
	onAddAndResize struct{}
)

func (onAdd) Subscribes() []string          { return []string{"add"} }
func (onUpdate) Subscribes() []string       { return []string{"update"} }
func (onResize) Subscribes() []string       { return []string{"resize"} }
func (onAddAndResize) Subscribes() []string { return []string{"add", "resize"} }

func init() { admission.Export(policies) }

func main() {}
