//! For which images a pod has to show credentials: two fields and a feature gate
//! (upstream: `apis/config/validation/validation.go`).

use witlet_core::image::records::{VerificationPolicy, check_allowed};

use super::{SettingsError, wrong};
use crate::kubelet::effective_config::EffectiveConfig;
use crate::kubelet::gates;

const POLICY: &str = "imagePullCredentialsVerificationPolicy";
const ALLOWLIST: &str = "preloadedImagesVerificationAllowlist";
const GATE: &str = "KubeletEnsureSecretPulledImages";

/// Returns what the configuration comes to.
pub(super) fn policy(effective: &EffectiveConfig) -> Result<VerificationPolicy, SettingsError> {
    let (policy, allowed) = (
        effective.image_pull_credentials_verification_policy.as_deref(),
        &effective.preloaded_images_verification_allowlist,
    );
    if !gates::is_enabled(&effective.feature_gates, GATE) {
        let set = if allowed.is_empty() { policy.map(|_| POLICY) } else { Some(ALLOWLIST) };
        return match set {
            None => Ok(VerificationPolicy::NeverVerify),
            Some(POLICY) => Err(SettingsError::Together {
                message: "imagePullCredentialsVerificationPolicy must not be set if the feature gate KubeletEnsureSecretPulledImages is off",
            }),
            Some(_) => Err(SettingsError::Together {
                message: "preloadedImagesVerificationAllowlist must not be set if the feature gate KubeletEnsureSecretPulledImages is off",
            }),
        };
    }
    let policy = match policy {
        None | Some("NeverVerifyPreloadedImages") => VerificationPolicy::NeverVerifyPreloadedImages,
        Some("NeverVerify") => VerificationPolicy::NeverVerify,
        Some("AlwaysVerify") => VerificationPolicy::AlwaysVerify,
        Some("NeverVerifyAllowlistedImages") => {
            VerificationPolicy::NeverVerifyAllowlistedImages(allowed.clone())
        }
        Some(other) => {
            let expected = "expected NeverVerify, NeverVerifyPreloadedImages, NeverVerifyAllowlistedImages or AlwaysVerify";
            return Err(wrong(POLICY, other, expected));
        }
    };
    if !allowed.is_empty() && !matches!(policy, VerificationPolicy::NeverVerifyAllowlistedImages(_)) {
        return Err(SettingsError::Together {
            message: "preloadedImagesVerificationAllowlist needs imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages",
        });
    }
    for pattern in allowed {
        check_allowed(pattern).map_err(|problem| wrong(ALLOWLIST, pattern, problem))?;
    }
    Ok(policy)
}
