from swap_quoter.app import main

main()
