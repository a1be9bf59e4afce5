//! For the servers that run tests.

use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};

use super::Report;
use crate::{Finding, Verdict};

impl Report {
    /// The report as `JUnit`'s XML: a suite for each point of the checklist.
    ///
    /// # Errors
    /// Where it cannot be written as XML.
    pub fn junit(&self) -> Result<String, quick_junit::SerializeError> {
        let mut junit = Junit::new(format!("{}{}", self.origin, self.path));
        if let Some(reason) = &self.environment {
            let mut suite = TestSuite::new("control");
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(reason.as_str());
            suite.add_test_case(TestCase::new("control", status));
            junit.add_test_suite(suite);
        }
        for (point, findings) in self.by_point() {
            let mut suite = TestSuite::new(format!("{point}: {}", point.title()));
            suite.add_test_cases(findings.into_iter().map(case));
            junit.add_test_suite(suite);
        }
        junit.to_string()
    }
}

fn case(finding: &Finding) -> TestCase {
    let Finding { probe, verdict, expected, got, note, .. } = finding;
    let mut status = match verdict {
        Verdict::Pass | Verdict::Advisory | Verdict::Warn => TestCaseStatus::success(),
        Verdict::Skipped | Verdict::Inconclusive => TestCaseStatus::skipped(),
        Verdict::Fail => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Environment => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    let told = format!("{verdict}: expected {expected}, got {got}");
    match verdict {
        Verdict::Fail | Verdict::Environment => _ = status.set_message(told).set_description(finding.fix()),
        Verdict::Skipped | Verdict::Inconclusive => _ = status.set_message(note.unwrap_or(&told)),
        _ => {}
    }
    let mut case = TestCase::new(probe.id, status);
    case.set_classname(format!("{} {}", probe.clause, probe.title));
    if matches!(verdict, Verdict::Warn | Verdict::Advisory) {
        case.set_system_out(format!("{verdict}: expected {expected}, got {got}\nto mend it: {}", finding.fix()));
    }
    case
}
