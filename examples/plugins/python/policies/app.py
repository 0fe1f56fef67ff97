"""Example of contract 0.2: the policies that clusters have most, in a few lines each.

A plugin's entry picks one: `config: {policy: noPrivileged}`. Take the file that a policy of yours is closest to.
"""

import host
import images
import metadata
import node
import resources
import security
from witlet_admission import exported

POLICIES = (
    images.AllowedRegistries,
    images.NoLatestTag,
    images.DigestRequired,
    images.PullPolicy,
    images.ImagesAtMost,
    images.ImageUpdates,
    security.NoPrivileged,
    security.Capabilities,
    security.RunAsNonRoot,
    security.NoPrivilegeEscalation,
    security.ReadOnlyRoot,
    security.SeccompRequired,
    security.AppArmorProfiles,
    security.UserIds,
    security.UserNamespaces,
    security.DebugContainers,
    host.NoHostPath,
    host.HostPathsReadOnly,
    host.NoHostNamespaces,
    host.HostPortRange,
    host.VolumeKinds,
    resources.LimitsRequired,
    resources.LimitRatio,
    resources.PodSize,
    resources.GuaranteedQos,
    resources.ResizeAtMost,
    metadata.RequiredLabels,
    metadata.RequiredAnnotations,
    metadata.OwnerKinds,
    metadata.NoServiceAccountToken,
    metadata.ServiceAccounts,
    metadata.PriorityClasses,
    metadata.EnvSecrets,
    node.NodeZone,
    node.SpreadReplicas,
    node.Headroom,
    node.UnderPressure,
)

Handler = exported(*POLICIES)
