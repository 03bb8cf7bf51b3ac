"""The scikit-learn side: classifiers, regressors, searches and transformers."""
