//! The fetch budget of a session.

use pinfold::policy::settings::FetchBudget;
use pinfold::{Failure, RefusalCode};

/// Bytes that were fetched so far, with those that are being fetched.
#[derive(Debug, Default)]
pub(super) struct FetchUsage {
    fetches: u64,
    bytes: u64,
}

impl FetchUsage {
    /// Takes one fetch, and says how many bytes it may have. They count as spent until they are given back.
    ///
    /// # Errors
    /// When nothing is left.
    pub(super) fn take(&mut self, budget: FetchBudget, most: u64) -> Result<u64, Failure> {
        let spent = |what: String| {
            let message =
                format!("nothing was fetched: this session has fetched {what}, which is all it may");
            Failure::plain(RefusalCode::BudgetSpent, message, "work with what you have, or tell the user")
        };
        if self.fetches >= budget.fetches {
            return Err(spent(format!("{} pages", budget.fetches)));
        }
        let left = budget.bytes.saturating_sub(self.bytes).min(most);
        if left == 0 {
            return Err(spent(format!("{} KiB", budget.bytes >> 10)));
        }
        self.fetches += 1;
        self.bytes += left;
        Ok(left)
    }

    /// Gives back what was not needed.
    pub(super) fn give_back(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_is_refused() {
        let budget = FetchBudget { fetches: 3, bytes: 100 };
        let mut spent = FetchUsage::default();
        assert_eq!(spent.take(budget, 60).unwrap(), 60);
        assert_eq!(spent.take(budget, 60).unwrap(), 40, "what is under way counts");
        assert_eq!(spent.take(budget, 60).unwrap_err().code, RefusalCode::BudgetSpent);
        spent.give_back(30);
        assert_eq!(spent.take(budget, 60).unwrap(), 30);
        spent.give_back(30);
        assert!(spent.take(budget, 60).unwrap_err().message.contains("3 pages"));
    }
}
