from swap_dashboard.app import main

main()
